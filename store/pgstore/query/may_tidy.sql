-- Whether this role may vacuum the table of what is not answered, and how many pages it has.
SELECT pg_has_role(relowner, 'USAGE')
        OR pg_has_role((SELECT datdba FROM pg_database WHERE datname = current_database()), 'USAGE')
        OR CASE WHEN current_setting('server_version_num')::int >= 170000 THEN has_table_privilege(oid, 'MAINTAIN') ELSE false END,
    pg_relation_size(oid) / current_setting('block_size')::bigint
FROM pg_class WHERE oid = 'reprise.reprise_open'::regclass
