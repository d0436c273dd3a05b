"""The brief as a format: its page, what a writer is given and answers, and what is wrong with one."""
