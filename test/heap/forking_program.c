/* Uses forking_library.c; its static data are so large that they are moved. */
static volatile int words[1 << 20];
void use_memory(volatile int* word);

int main(void) {
  words[70000] = 1;
  use_memory(&words[70000]);
  return 0;
}
