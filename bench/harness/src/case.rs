//! A named piece of work, kept unprepared until somebody asks for it.

use tokio::runtime::{Builder, Runtime};

use crate::lap::Lap;

/// Something that can run a batch. Whether it is asynchronous, plain or measured from inside is forgotten here.
type Routine = Box<dyn FnMut(&Runtime, &Lap)>;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Run on demand: nobody compiles a thousand regexes to measure something else.
    set_up: Box<dyn FnOnce() -> Routine>,
}

impl Case {
    pub(crate) fn awaited<R, T>(name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: AsyncFnMut() -> T + 'static,
    {
        Self::boxed(name, move || {
            let mut routine = set_up();
            Box::new(move |runtime, lap| runtime.block_on(lap.run(&mut routine)))
        })
    }

    pub(crate) fn plain<R, T>(name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: FnMut() -> T + 'static,
    {
        Self::boxed(name, move || {
            let mut routine = set_up();
            Box::new(move |_, lap| lap.run_plain(&mut routine))
        })
    }

    pub(crate) fn inside<R>(name: &'static str, set_up: impl FnOnce() -> R + 'static) -> Self
    where
        R: AsyncFnMut(Lap) + 'static,
    {
        Self::boxed(name, move || {
            let mut routine = set_up();
            Box::new(move |runtime, lap| runtime.block_on(routine(lap.clone())))
        })
    }

    /// Does the set-up and returns what runs one batch.
    ///
    /// Every case has a runtime of its own: what one leaves behind (idle threads, timers) is not the next one's burden.
    pub(crate) fn prepare(self) -> impl FnMut(&Lap) {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime without I/O asks the system for nothing");
        let mut routine = {
            // Some engines look for the runtime when they are built.
            let _entered = runtime.enter();
            (self.set_up)()
        };
        move |lap| routine(&runtime, lap)
    }

    fn boxed(name: &'static str, set_up: impl FnOnce() -> Routine + 'static) -> Self {
        Self { name, set_up: Box::new(set_up) }
    }
}
