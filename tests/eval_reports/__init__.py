"""`./dev eval-reports`: claims of reports whose truth is known, judged, and counted."""
