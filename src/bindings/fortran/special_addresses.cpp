// The block of special addresses, for what mpifort links: libmpifort_addresses.a (docs/fortran.md).
#include "bindings/fortran/special_addresses.hpp"
