//! The promises of the runtime, kept by whole agents on scripted models.

mod support;

mod skeleton;
mod verdicts;
