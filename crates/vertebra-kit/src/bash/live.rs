//! What a command prints, told to front ends while it still runs.

use vertebra::Invocation;

use super::text;

/// How long a line may grow before it is told in pieces.
const LINE: usize = 4 * 1024;

/// Tells whole lines, until so many bytes were told.
pub(super) struct Live<'a> {
    invocation: &'a Invocation,
    pending: Vec<u8>,
    left: usize,
}

impl<'a> Live<'a> {
    pub(super) fn new(invocation: &'a Invocation, bytes: usize) -> Self {
        Self { invocation, pending: Vec::new(), left: bytes }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.left == 0 {
            return;
        }
        self.pending.extend_from_slice(bytes);
        let whole = match self.pending.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.pending.len() > LINE => text::whole_end(&self.pending).len(),
            None => 0,
        };
        self.tell(whole);
    }

    /// Tells what is left of a last line.
    pub(super) fn finish(mut self) {
        self.tell(self.pending.len());
    }

    fn tell(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let piece: Vec<u8> = self.pending.drain(..bytes).collect();
        self.invocation.say(text::clean(&piece));
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 {
            self.pending = Vec::new();
            self.invocation.say("[the rest is not shown live]\n");
        }
    }
}
