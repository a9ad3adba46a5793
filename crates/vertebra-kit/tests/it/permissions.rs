//! Rules, modes and people: who may do what.
