/* The library that a plugin of the museum needs and the system's loader cannot find. */
int vanished_function(void);
int vanished_function(void) {
  return 1;
}
