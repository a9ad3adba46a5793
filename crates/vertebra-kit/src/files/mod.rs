//! Files below one folder, through a handle to it: read, write, edit, list, find, search.
