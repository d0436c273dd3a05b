"""What operators can ask of the living daemon: the API's view of it, over the supervisor and the files."""
