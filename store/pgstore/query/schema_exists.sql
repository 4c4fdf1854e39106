SELECT to_regnamespace($1) IS NOT NULL, to_regclass('reprise.reprise_schema') IS NOT NULL, current_setting('server_version_num')::int
