//! The function that becomes a tool, and the code that it becomes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, ReturnType, Type, ext::IdentExt as _,
    spanned::Spanned as _,
};

use crate::options::Options;

/// An async function with a doc comment and named parameters.
pub(crate) struct Function {
    item: ItemFn,
    description: String,
    parameters: Vec<Parameter>,
}

/// A parameter of the function.
enum Parameter {
    /// The model gives its value. The attributes, its doc comment among them, become those of the field.
    Argument { attributes: Vec<Attribute>, name: Ident, of: Box<Type> },
    /// The runtime gives it: the handle to the call.
    Invocation,
}

impl Function {
    pub(crate) fn new(mut item: ItemFn) -> syn::Result<Self> {
        if item.sig.asyncness.is_none() {
            return Err(syn::Error::new(item.sig.fn_token.span, "a tool is an `async fn`"));
        }
        if !item.sig.generics.params.is_empty() {
            return Err(syn::Error::new(
                item.sig.generics.span(),
                "a tool has no type parameters: its schema is made from its types",
            ));
        }
        let description = description(&item.attrs);
        if description.is_empty() {
            return Err(syn::Error::new(
                item.sig.ident.span(),
                "a tool needs a doc comment: the model reads it to learn what the tool is for",
            ));
        }
        let parameters = item.sig.inputs.iter_mut().map(parameter).collect::<syn::Result<_>>()?;
        Ok(Self { item, description, parameters })
    }

    /// The function as it was, and a unit struct, which is the tool: `Add` for `add`.
    pub(crate) fn into_tool(self, options: &Options) -> TokenStream {
        let Self { item, description, parameters } = self;
        let (function, visibility) = (&item.sig.ident, &item.vis);
        let name = options.name.as_ref().map_or_else(|| function.unraw().to_string(), syn::LitStr::value);
        let tool = Ident::new(&camel_case(&function.unraw().to_string()), function.span());
        let documentation = format!("The tool that is made of [`{function}`](fn@{function}).");
        let changes = &options.changes;
        let fields = parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument { attributes, name, of } => Some(quote!(#(#attributes)* #name: #of)),
            Parameter::Invocation => None,
        });
        let passed = parameters.iter().map(|parameter| match parameter {
            Parameter::Argument { name, .. } => quote!(input.#name),
            Parameter::Invocation => quote!(invocation),
        });
        let result = if returns_result(&item.sig.output) { quote!(output?) } else { quote!(output) };
        quote! {
            #[allow(clippy::unused_async, reason = "a tool is async whether it waits or not")]
            #item

            #[doc = #documentation]
            #[derive(Debug, Clone, Copy)]
            #visibility struct #tool;

            const _: () = {
                use ::vertebra::macros::{schemars, serde};

                #[derive(serde::Deserialize, schemars::JsonSchema)]
                #[serde(crate = "serde")]
                #[schemars(crate = "schemars")]
                struct Input {
                    #(#fields,)*
                }

                impl ::vertebra::Tool for #tool {
                    fn spec(&self) -> ::vertebra::ToolSpec {
                        ::vertebra::ToolSpec::new(#name, #description).input::<Input>()#(#changes)*
                    }

                    async fn call(
                        &self,
                        args: ::vertebra::Args,
                        invocation: ::vertebra::Invocation,
                    ) -> ::core::result::Result<::vertebra::ToolOutput, ::vertebra::ToolError> {
                        #[allow(unused_variables, reason = "a tool may take no arguments")]
                        let input = args.parse::<Input>()?;
                        let output = #function(#(#passed),*).await;
                        ::core::result::Result::Ok(::core::convert::Into::into(#result))
                    }
                }
            };
        }
    }
}

/// Reads a parameter and takes its attributes, which a function cannot have.
fn parameter(input: &mut FnArg) -> syn::Result<Parameter> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            return Err(syn::Error::new(
                receiver.span(),
                "a tool has no `self`; for a tool with state, implement `Tool` or use the function `tool`",
            ));
        }
    };
    if is_named(&typed.ty, "Invocation") {
        return Ok(Parameter::Invocation);
    }
    let Pat::Ident(name) = &*typed.pat else {
        return Err(syn::Error::new(
            typed.pat.span(),
            "a parameter of a tool is a plain name, by which the model gives its value",
        ));
    };
    let attributes = std::mem::take(&mut typed.attrs);
    Ok(Parameter::Argument { attributes, name: name.ident.clone(), of: typed.ty.clone() })
}

/// The doc comment as one text: lines of a paragraph are joined, and paragraphs stay apart.
fn description(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { return None };
        Some(text.value().trim().to_owned())
    });
    let mut description = String::new();
    for line in lines {
        let gap = match (description.as_str(), line.as_str()) {
            ("", _) => "",
            (_, "") => "\n\n",
            (text, _) if text.ends_with('\n') => "",
            _ => " ",
        };
        description = description + gap + &line;
    }
    description.trim_end().to_owned()
}

/// `WriteFile` for `write_file`.
fn camel_case(name: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split('_').filter_map(capitalised).collect()
}

fn returns_result(output: &ReturnType) -> bool {
    matches!(output, ReturnType::Type(_, of) if is_named(of, "Result"))
}

/// Whether the last word of a type's path is this.
fn is_named(of: &Type, name: &str) -> bool {
    matches!(of, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn check(item: ItemFn, expected: &str) {
        let error = Function::new(item).err().map(|error| error.to_string());
        assert_eq!(error.as_deref().unwrap_or("a tool"), expected);
    }

    #[test]
    fn a_function_that_cannot_be_a_tool_is_an_error_that_says_why() {
        check(
            parse_quote! {
                /// Adds.
                async fn add(left: i64, invocation: vertebra::Invocation) -> i64 { left }
            },
            "a tool",
        );
        check(
            parse_quote! {
                async fn add(left: i64) -> i64 { left }
            },
            "a tool needs a doc comment: the model reads it to learn what the tool is for",
        );
        check(
            parse_quote! {
                /// Adds.
                fn add(left: i64) -> i64 { left }
            },
            "a tool is an `async fn`",
        );
        check(
            parse_quote! {
                /// Adds.
                async fn add<T>(left: T) -> T { left }
            },
            "a tool has no type parameters: its schema is made from its types",
        );
        check(
            parse_quote! {
                /// Adds.
                async fn add((left, right): (i64, i64)) -> i64 { left }
            },
            "a parameter of a tool is a plain name, by which the model gives its value",
        );
    }

    #[test]
    fn the_tool_has_the_name_of_the_function_as_a_type() {
        assert_eq!(camel_case("add"), "Add");
        assert_eq!(camel_case("_write_file__2"), "WriteFile2");
    }

    #[test]
    fn an_unknown_option_is_an_error_that_lists_the_known_ones() {
        let error = syn::parse_str::<Options>("readonly").err().expect("no such option");

        assert_eq!(
            error.to_string(),
            "`readonly` is not an option of a tool: use `name = \"…\"`, `alias = \"…\"`, `read_only` or `idempotent`"
        );
    }
}
