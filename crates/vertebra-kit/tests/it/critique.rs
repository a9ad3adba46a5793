//! A critic that reads final answers and may send them back.
