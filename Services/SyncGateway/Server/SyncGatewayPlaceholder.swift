// Placeholder: this service is not written yet.
