//! Secrets and personal data that never reach the model, the screen or the record.
