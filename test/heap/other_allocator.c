/* An allocator that is not the C library's: marks its blocks and aborts when it is given one of anybody else.
   Built into a program (own_allocator) and as a library to be preloaded behind ours (other_allocator). */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kHead = 4096 };
static const uint64_t kMark = 0x6b72616d2073656bull;
struct head {
  uint64_t mark;
  size_t bytes, mapped;
  char* start;
};

static struct head* head_of(void* block) {
  struct head* head = (struct head*)((char*)block - sizeof(struct head));
  if (head->mark != kMark) abort();
  return head;
}
void* memalign(size_t alignment, size_t bytes) {
  if (alignment < 64) alignment = 64;
  size_t mapped = bytes + alignment + kHead;
  if (mapped < bytes) return errno = ENOMEM, NULL;
  char* start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return errno = ENOMEM, NULL;
  char* block = (char*)(((uintptr_t)start + sizeof(struct head) + alignment - 1) & ~(alignment - 1));
  *((struct head*)(block - sizeof(struct head))) = (struct head){kMark, bytes, mapped, start};
  return block;
}
void* malloc(size_t bytes) { return memalign(64, bytes); }
void* other_malloc(size_t bytes) { return memalign(64, bytes); }
void free(void* block) {
  if (block) munmap(head_of(block)->start, head_of(block)->mapped);
}
void* calloc(size_t count, size_t each) {
  size_t bytes;
  return __builtin_mul_overflow(count, each, &bytes) ? (errno = ENOMEM, NULL) : memalign(64, bytes);
}
void* realloc(void* block, size_t bytes) {
  void* moved = memalign(64, bytes);
  if (moved && block) {
    size_t held = head_of(block)->bytes;
    memcpy(moved, block, held < bytes ? held : bytes);
    free(block);
  }
  return moved;
}
size_t malloc_usable_size(void* block) { return block ? head_of(block)->bytes : 0; }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
