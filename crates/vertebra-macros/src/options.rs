//! What stands in the brackets: `#[tool(name = "…", alias = "…", read_only)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Ident, LitStr, Token,
    parse::{Parse, ParseStream},
};

/// The options of a tool, as calls on its `ToolSpec`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) changes: Vec<TokenStream>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let option: Ident = input.parse()?;
            match option.to_string().as_str() {
                "name" => options.name = Some(value(input)?),
                "alias" => {
                    let alias = value(input)?;
                    options.changes.push(quote!(.alias(#alias)));
                }
                "read_only" | "idempotent" => options.changes.push(quote!(.#option())),
                other => {
                    let message = format!(
                        "`{other}` is not an option of a tool: use `name = \"…\"`, `alias = \"…\"`, `read_only` or \
                         `idempotent`"
                    );
                    return Err(syn::Error::new(option.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn value(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}
