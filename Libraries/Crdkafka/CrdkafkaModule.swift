// Placeholder: this library is not written yet.
