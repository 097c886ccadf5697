// The profile of an application (DUNLIN_PROFILE): what its ranks spend in MPI, and what they send.
//
// A library that mpirun preloads: it stands before the functions of mpi.h, under both of their names, so that
// a tool that wraps MPI_Send and calls PMPI_Send is seen, too.  Nothing of it is in a program that is not
// profiled. Written in C, so that a C program gets no other run-time library by being profiled.
//
// Thread safety: any thread may be in any call; only the outermost call of a thread is counted.
#pragma once

#include <mpi.h>

enum { CALLS_MAX = 1024 };

// Of the generated wrappers (generate.py).
extern const char* const call_names[CALLS_MAX];
extern const int call_count;

/// A function of the library below this one; ends the program where it has none.
void (*find(const char* name))(void);

/// The time in ns, or -1 inside another call of this thread.
long long enter_call(void);
void leave_call(int call, long long start_ns);

/// After a message has left: its arguments are right.
void note_message(MPI_Count count, MPI_Datatype datatype, int dest);

/// Before a receive is posted: looks whether its message has come and is long.
void note_receive(MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm);

/// Before MPI_Finalize: collective over MPI_COMM_WORLD.
void report(void);
