/* An executable, to be taken for a plugin. */
int main(void) {
  return 0;
}
