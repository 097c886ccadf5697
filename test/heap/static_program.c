/* A static program ignores LD_PRELOAD; it must simply run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char* block = malloc(1 << 20);
  if (!block) return 1;
  memset(block, 1, 1 << 20);
  puts(block[5] == 1 ? "static ok" : "wrong");
  free(block);
  return 0;
}
