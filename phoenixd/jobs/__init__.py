"""Work on many documents at once, which may one day ask a model: briefs. Nothing here touches the machine."""
