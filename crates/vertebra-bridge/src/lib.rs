//! Vertebra from outside the process: what a file says, and whether it is trusted.

#![warn(missing_docs)]
