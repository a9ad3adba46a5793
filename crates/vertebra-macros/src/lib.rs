//! The attribute `#[tool]`. Use it through the `vertebra` crate, which documents it with examples.

mod function;
mod options;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

use crate::{function::Function, options::Options};

/// Makes a tool of an async function: see `vertebra::tool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as Options);
    let item = parse_macro_input!(item as ItemFn);
    let function = Function::new(item);
    function.map_or_else(syn::Error::into_compile_error, |function| function.into_tool(&options)).into()
}
