"""What a program is: registers, operands, instructions, kernels, modules, result rows."""
