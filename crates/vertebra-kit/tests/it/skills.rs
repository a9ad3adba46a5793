//! Instructions in folders, loaded when they are needed.
