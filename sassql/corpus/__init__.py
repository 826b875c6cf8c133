"""Many files: build with NVRTC, read folders and libraries, ask questions of all of them."""
