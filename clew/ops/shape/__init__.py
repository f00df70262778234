"""Views, joining, splitting and other changes of shape and layout."""
