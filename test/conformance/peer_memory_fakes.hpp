// Devices in user space in the place of the kernel modules of XPMEM and KNEM, so that the conformance suite
// runs on those mechanisms on every machine.
#pragma once

/// Uses the fakes in this process wherever the real module is not loaded.
void use_fake_devices();

/// Whether this mechanism maps by a fake, which cannot follow the peer's page tables as a kernel does.
bool is_fake_mapping(const char* mechanism);
