// Threads of the library's own: signals are the program's, and never reach them.
#pragma once

#include <pthread.h>

namespace dunlin::os {

/// Like pthread_create: the errno, or 0.
int start_thread(pthread_t* thread, void* (*run)(void*), void* argument) noexcept;

}  // namespace dunlin::os
