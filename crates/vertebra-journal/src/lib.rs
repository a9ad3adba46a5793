//! The journal on disk: nothing lost, nothing done twice, everything replayable.
