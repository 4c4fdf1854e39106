-- Which SQLite this is, and how it was built.
SELECT sqlite_source_id() || ' ' || group_concat(compile_options, ' ') FROM pragma_compile_options
