//! Short programs that are the manual: one file each, run and checked by the tests.
