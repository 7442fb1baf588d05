"""The intermediate representations: programs and assembly, and the scalar expressions of both."""
