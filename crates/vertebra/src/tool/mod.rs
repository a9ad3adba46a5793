//! Tools: what a model can do.

pub(crate) mod args;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod invocation;
pub(crate) mod name;
pub mod paths;
pub(crate) mod registry;
pub(crate) mod result;

use std::{future::Future, marker::PhantomData, pin::Pin, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use vertebra_hooks::SendFn2;

use crate::{AgentState, Args, CheckCx, Checked, Invocation};

/// What is known of a tool before it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and most tools have none of them")]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: Arc<str>,
    /// What it is for, for the model.
    pub description: Arc<str>,
    /// The JSON schema of its arguments. Calls that do not fit are refused before the tool sees them.
    pub schema: Arc<Value>,
    /// Names under which policies written for other agents know such a tool: `Write` for `write_file`.
    pub aliases: Arc<[Arc<str>]>,
    /// Whether it changes nothing outside.
    pub read_only: bool,
    /// Whether running it twice is as good as once.
    pub idempotent: bool,
    /// Whether all it does is let other agents work: begun again after a crash, it finds them where they were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegates: bool,
    /// Whether it does nothing but give back what the runtime itself took out of the conversation. Whoever narrows the
    /// tools leaves it in, or the model would lose what it has read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recalls: bool,
    /// Whether it puts back what redaction has hidden from the model, where the model writes the mark of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restores: bool,
}

impl ToolSpec {
    /// A tool that takes any object, until told otherwise.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema: Arc::new(serde_json::json!({ "type": "object" })),
            aliases: Arc::new([]),
            read_only: false,
            idempotent: false,
            delegates: false,
            recalls: false,
            restores: false,
        }
    }

    /// Takes arguments of this type.
    #[must_use]
    pub fn input<T: JsonSchema>(mut self) -> Self {
        self.schema = Arc::new(schemars::schema_for!(T).to_value());
        self
    }

    /// Takes arguments of this schema.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Arc::new(schema);
        self
    }

    /// Is also known as this.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<Arc<str>>) -> Self {
        self.aliases = self.aliases.iter().cloned().chain([alias.into()]).collect();
        self
    }

    /// Changes nothing outside, so it may also be repeated.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self.idempotent = true;
        self
    }

    /// Running it twice is as good as once: after a crash it is run again, under the same key.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Does nothing but let other agents work: begun again after a crash, it finds them where they were.
    #[must_use]
    pub fn delegates(mut self) -> Self {
        self.delegates = true;
        self
    }

    /// Puts back what redaction has hidden from the model, where the model writes the mark of it.
    #[must_use]
    pub fn restores(mut self) -> Self {
        self.restores = true;
        self
    }

    /// Only gives back what the runtime itself took out of the conversation.
    #[must_use]
    pub fn recalls(mut self) -> Self {
        self.recalls = true;
        self.read_only()
    }
}

/// Something a model can do.
///
/// Most tools are functions: see [`tool`]. Implement the trait for a tool that has state of its own.
pub trait Tool: Send + Sync + 'static {
    /// What is known of it.
    fn spec(&self) -> ToolSpec;

    /// Does it. The arguments fit the schema. When the future is dropped, the use is cancelled.
    fn call(&self, args: Args, invocation: Invocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// Finds out whether a call can succeed, without changing anything. It runs after hooks and guards have let the call
    /// pass and before anyone is asked about it. If it fails, nobody is asked: the call has failed, and the model reads
    /// the error. `None` means that the tool has no check.
    ///
    /// The answer is a forecast: when the tool is called, it looks again.
    fn check(&self, args: Args, cx: CheckCx) -> impl Future<Output = Result<Option<Checked>, ToolError>> + Send {
        let _ = (args, cx);
        async { Ok(None) }
    }

    /// Finds out what came of a use that had begun when its process ended; [`Invocation::key`] names it. Something in the
    /// arguments may be hidden, if the agent hides things from its journal.
    fn reconcile(
        &self,
        args: Args,
        invocation: Invocation,
    ) -> impl Future<Output = Result<Reconciled, ToolError>> + Send {
        let _ = (args, invocation);
        async { Ok(Reconciled::Unknown) }
    }

    /// Whether this very call changes nothing, although the tool may: then it runs at the same time as calls next to it that
    /// only read. It must not do more than look at the arguments. A tool that never changes anything says so in its
    /// [spec](ToolSpec::read_only).
    fn only_reads(&self, args: &Args) -> bool {
        let _ = args;
        false
    }

    /// Where a call starts, if that is not the agent's working directory: relative paths among its arguments belong there.
    fn folder(&self, state: &AgentState) -> Option<String> {
        let _ = state;
        None
    }
}

/// What came of a use of a tool that was cut short.
#[derive(Debug, Clone, PartialEq)]
pub enum Reconciled {
    /// It was done, and this came of it.
    Done(ToolOutput),
    /// It was not done: it is done now, under the same key.
    NotDone,
    /// Nobody can say. The model and the person are told, and nothing is repeated.
    Unknown,
}

/// What a tool gives back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// The exit code, if it ran a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Data for hooks and front ends that the model does not read.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Value> for ToolOutput {
    fn from(data: Value) -> Self {
        Self { text: data.to_string(), exit_code: None, data }
    }
}

/// A tool did not do its work. Any error becomes one through `?`; the model reads its text.
pub struct ToolError(String);

impl ToolError {
    /// An error from a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(crate) fn into_message(self) -> String {
        self.0
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(vertebra_hooks::HookError::from(error).to_string())
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ToolError({:?})", self.0)
    }
}

/// What the function of a tool may end in: an output, or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "a tool cannot end in `{Self}`",
    note = "end it in text, JSON or a `ToolOutput`, or in `Ok(…)` of anything that is `Into<ToolOutput>`"
)]
pub trait IntoOutput {
    /// The output, or why there is none.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl<O: Into<ToolOutput>> IntoOutput for Result<O, ToolError> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        self.map(Into::into)
    }
}

// One by one: with one for all that is `Into<ToolOutput>`, the compiler could not tell the error type of `Ok(…)`.
macro_rules! outputs {
    ($($output:ty),*) => {$(
        impl IntoOutput for $output {
            fn into_output(self) -> Result<ToolOutput, ToolError> {
                Ok(self.into())
            }
        }
    )*};
}

outputs!(ToolOutput, String, &str, Value);

/// Makes a tool of an async function: `tool("add", "Adds two numbers", async |input: Add, _| (input.a + input.b).to_string())`.
///
/// The schema comes from the input type. The function may end in text, JSON or a [`ToolOutput`], or in a `Result` of one. It
/// is cloned for each call, so share state through an `Arc`.
pub fn tool<I, O, F>(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, function: F) -> FnTool<I, O, F>
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    O: IntoOutput + 'static,
    F: AsyncFn(I, Invocation) -> O + SendFn2<I, Invocation, O>,
{
    FnTool { spec: ToolSpec::new(name, description).input::<I>(), function, types: PhantomData }
}

/// A tool made of a function by [`tool`].
pub struct FnTool<I, O, F> {
    spec: ToolSpec,
    function: F,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O, F> FnTool<I, O, F> {
    /// Changes what is known of the tool: `tool(…).with(|spec| spec.alias("Write"))`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }
}

impl<I, O, F> Tool for FnTool<I, O, F>
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    O: IntoOutput + 'static,
    F: SendFn2<I, Invocation, O>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(&self, args: Args, invocation: Invocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        let input = args.parse::<I>();
        let function = self.function.clone();
        async move { function.call(input?, invocation).await.into_output() }
    }
}

/// A tool that an agent has, for another agent to have too. A clone is the same tool.
#[derive(Clone)]
pub struct SharedTool(pub(crate) Arc<dyn ErasedTool>);

impl Tool for SharedTool {
    fn spec(&self) -> ToolSpec {
        self.0.spec()
    }

    fn call(&self, args: Args, invocation: Invocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        self.0.call(args, invocation)
    }

    fn check(&self, args: Args, cx: CheckCx) -> impl Future<Output = Result<Option<Checked>, ToolError>> + Send {
        self.0.check(args, cx)
    }

    fn reconcile(
        &self,
        args: Args,
        invocation: Invocation,
    ) -> impl Future<Output = Result<Reconciled, ToolError>> + Send {
        self.0.reconcile(args, invocation)
    }

    fn only_reads(&self, args: &Args) -> bool {
        self.0.only_reads(args)
    }

    fn folder(&self, state: &AgentState) -> Option<String> {
        self.0.folder(state)
    }
}

/// [`Tool`] with its future boxed, so that tools share a list.
pub(crate) trait ErasedTool: Send + Sync {
    fn spec(&self) -> ToolSpec;
    fn call<'a>(
        &'a self,
        args: Args,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;
    fn check<'a>(
        &'a self,
        args: Args,
        cx: CheckCx,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Checked>, ToolError>> + Send + 'a>>;
    fn reconcile<'a>(
        &'a self,
        args: Args,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = Result<Reconciled, ToolError>> + Send + 'a>>;
    fn only_reads(&self, args: &Args) -> bool;
    fn folder(&self, state: &AgentState) -> Option<String>;
}

impl<T: Tool> ErasedTool for T {
    fn spec(&self) -> ToolSpec {
        Tool::spec(self)
    }

    fn call<'a>(
        &'a self,
        args: Args,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>> {
        Box::pin(Tool::call(self, args, invocation))
    }

    fn check<'a>(
        &'a self,
        args: Args,
        cx: CheckCx,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Checked>, ToolError>> + Send + 'a>> {
        Box::pin(Tool::check(self, args, cx))
    }

    fn reconcile<'a>(
        &'a self,
        args: Args,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = Result<Reconciled, ToolError>> + Send + 'a>> {
        Box::pin(Tool::reconcile(self, args, invocation))
    }

    fn only_reads(&self, args: &Args) -> bool {
        Tool::only_reads(self, args)
    }

    fn folder(&self, state: &AgentState) -> Option<String> {
        Tool::folder(self, state)
    }
}
