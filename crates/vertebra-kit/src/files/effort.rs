//! How long one call goes on: until its time is up, or until nobody waits for it any more.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use vertebra::{CancellationToken, Clock, ToolError};

/// The time of one call. Everything that takes long asks it.
#[derive(Clone)]
pub(super) struct Effort {
    clock: Arc<dyn Clock>,
    until: Duration,
    left: CancellationToken,
}

impl Effort {
    pub(super) fn new(clock: Arc<dyn Clock>, time: Duration, left: CancellationToken) -> Self {
        let until = clock.elapsed().saturating_add(time);
        Self { clock, until, left }
    }

    /// Why it is time to end, if it is.
    pub(super) fn over(&self) -> Option<&'static str> {
        if self.left.is_cancelled() {
            return Some("nobody waits for it any more");
        }
        (self.clock.elapsed() >= self.until).then_some("it took too long")
    }

    pub(super) fn check(&self) -> Result<(), ToolError> {
        self.over().map_or(Ok(()), |why| Err(ToolError::new(format!("given up: {why}"))))
    }

    /// The first bytes of a file.
    pub(super) fn read(&self, file: impl Read, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reading(file).take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A reader that ends with an error when it is time to end.
    pub(super) fn reading<R: Read>(&self, inner: R) -> Timed<'_, R> {
        Timed { inner, effort: self }
    }
}

/// See [`Effort::reading`].
pub(super) struct Timed<'e, R> {
    inner: R,
    effort: &'e Effort,
}

impl<R: Read> Read for Timed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.effort.over() {
            Some(why) => Err(io::Error::other(why)),
            None => self.inner.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use vertebra::testing::FakeClock;

    use super::*;

    #[test]
    fn reading_ends_when_nobody_waits_any_more() {
        let left = CancellationToken::new();
        let effort = Effort::new(Arc::new(FakeClock::new()), Duration::from_secs(1), left.clone());
        let mut endless = effort.reading(io::repeat(b'x'));
        let mut buffer = [0; 16];
        assert_eq!(endless.read(&mut buffer).expect("bytes"), 16);
        left.cancel();
        assert_eq!(endless.read(&mut buffer).expect_err("the end").to_string(), "nobody waits for it any more");
    }
}
