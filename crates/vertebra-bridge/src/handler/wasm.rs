//! `wasm`: a module that is held by fuel, memory and time, and reaches nothing.
//!
//! It imports nothing. It exports its `memory`, `alloc(bytes) -> address`, and `answer(address, bytes) -> i64`: the event
//! is written where `alloc` says, and the answer is the address in the upper half of what `answer` gives and the number
//! of bytes in the lower. Each event has an instance of its own.

use std::{sync::Arc, time::Instant};

use tokio::time::timeout;
use wasmtime::{Config, Engine, InstancePre, Linker, Module, Store, StoreLimits, StoreLimitsBuilder};

use super::{Answered, Ask, BoxFuture, Handler, HandlerError, Services, process::MAX_OUTPUT, services::Unready};
use crate::{
    settings::Contract,
    wire::{End, Exchange},
};

/// How large a module may be.
const MAX_MODULE_BYTES: u64 = 16 * 1024 * 1024;

/// After how much fuel a module lets others have their turn, so that it can be ended between.
const TURN: u64 = 100_000;

/// A module.
pub(super) struct Wasm {
    file: String,
    module: InstancePre<StoreLimits>,
    fuel: u64,
    memory: usize,
}

impl Wasm {
    /// Reads and compiles it. A module that is not as it was trusted fails whenever it is asked, as a script does, and the
    /// rest of the policy stays in force.
    pub(super) fn load(
        file: &str,
        fuel: u64,
        memory: u64,
        services: &Services,
    ) -> Result<Arc<dyn Handler>, HandlerError> {
        let wrong = |message: String| HandlerError::Module { file: file.to_owned(), message };
        let path = services.folder.join(file);
        let bytes = match services.seals.read(&path, MAX_MODULE_BYTES) {
            Ok(bytes) => bytes,
            Err(why) if services.seals.are_of_project() => {
                return Ok(Arc::new(Unready { shown: file.to_owned(), why }));
            }
            Err(message) => return Err(wrong(message)),
        };
        let module = compiled(&bytes).map_err(|error| wrong(format!("{error:#}")))?;
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Ok(Arc::new(Self { file: file.to_owned(), module, fuel, memory }))
    }

    async fn answer(&self, event: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let limits = StoreLimitsBuilder::new().memory_size(self.memory).memories(1).tables(16).instances(1);
        let mut store = Store::new(self.module.module().engine(), limits.trap_on_grow_failure(true).build());
        store.limiter(|limits| limits);
        store.set_fuel(self.fuel)?;
        store.fuel_async_yield_interval(Some(TURN))?;
        let instance = self.module.instantiate_async(&mut store).await?;
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| wasmtime::format_err!("no `memory`"))?;
        let alloc = instance.get_typed_func::<u32, u32>(&mut store, "alloc")?;
        let answer = instance.get_typed_func::<(u32, u32), u64>(&mut store, "answer")?;
        let length = u32::try_from(event.len())?;
        let place = alloc.call_async(&mut store, length).await?;
        memory.write(&mut store, place as usize, event)?;
        let answer = answer.call_async(&mut store, (place, length)).await?;
        let (place, length) = ((answer >> 32) as usize, (answer & 0xffff_ffff) as usize);
        let end = place.checked_add(length).filter(|_| length <= MAX_OUTPUT + 1);
        let bytes = end.and_then(|end| memory.data(&store).get(place..end));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| wasmtime::format_err!("its answer is not in its memory"))
    }
}

/// Compiles a module, which may import nothing and has to export what is used of it.
fn compiled(bytes: &[u8]) -> wasmtime::Result<InstancePre<StoreLimits>> {
    let mut config = Config::new();
    config.consume_fuel(true);
    let engine = Engine::new(&config)?;
    let module = Module::from_binary(&engine, bytes)?;
    let pre = Linker::new(&engine).instantiate_pre(&module)?;
    match ["memory", "alloc", "answer"].into_iter().find(|name| module.get_export(name).is_none()) {
        None => Ok(pre),
        Some(name) => Err(wasmtime::format_err!("it exports no `{name}`")),
    }
}

impl Handler for Wasm {
    fn shown(&self) -> String {
        self.file.clone()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let began = Instant::now();
            let event = ask.event.to_string().into_bytes();
            let (end, stdout) = match timeout(ask.limit, self.answer(&event)).await {
                Ok(Ok(answer)) if answer.len() > MAX_OUTPUT => (End::TooLarge { limit: MAX_OUTPUT }, String::new()),
                Ok(Ok(answer)) => match String::from_utf8(answer) {
                    Ok(answer) => (End::Answered, answer),
                    Err(error) => {
                        let answer = String::from_utf8_lossy(error.as_bytes()).into_owned();
                        (End::NotText { exit_code: None }, answer)
                    }
                },
                Ok(Err(error)) => (End::Failed { message: format!("the module failed: {error:#}") }, String::new()),
                Err(_) => (End::TimedOut { after: ask.limit }, String::new()),
            };
            let exchange =
                Exchange { handler: self.shown(), end, stdout, stderr: String::new(), took: began.elapsed() };
            let reply = Contract::Vertebra.read(&ask, &exchange);
            Answered { exchange, reply }
        })
    }
}
