# Short face of the CMake presets; see README.md.
PRESET ?= release
.PHONY: all
all: build
build/build.ninja:
	cmake --preset $(PRESET)
.PHONY: build
build: build/build.ninja
	cmake --build --preset $(PRESET)
