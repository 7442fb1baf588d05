"""From programs to assembly: passes to Finch Normal Form, one a file, then statements and loops."""
