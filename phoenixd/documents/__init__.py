"""The file formats that people, agents and the journal read: parse, validate, render, merge. No I/O."""
