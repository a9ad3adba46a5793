//! Tools of MCP servers, behind the same hooks as every other tool.
