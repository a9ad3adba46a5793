//! What a command prints, told to front ends while it still runs.

use vertebra::Invocation;

use super::text;

/// How long a line may grow before it is told in pieces.
const LINE: usize = 4 * 1024;

/// Tells whole lines, until so many bytes were told.
pub(super) struct Live<'a> {
    invocation: Option<&'a Invocation>,
    pending: Vec<u8>,
    left: usize,
}

impl<'a> Live<'a> {
    /// For the call that waits for the command. A command in the background has none, and tells nothing.
    pub(super) fn new(invocation: Option<&'a Invocation>, bytes: usize) -> Self {
        Self { invocation, pending: Vec::new(), left: if invocation.is_some() { bytes } else { 0 } }
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
        let Some(invocation) = self.invocation.filter(|_| bytes > 0) else { return };
        let piece: Vec<u8> = self.pending.drain(..bytes).collect();
        invocation.say(text::clean(&piece));
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 {
            self.pending = Vec::new();
            invocation.say("[the rest is not shown live]\n");
        }
    }
}
