/* A shared object that is no plugin. */
int some_library_function(void);
int some_library_function(void) {
  return 1;
}
