"""The libraries next door: their files and their objects, each imported where it is used.

``docs/neighbours.md`` lists them. A library that is not installed is named with the command that
installs it.
"""
