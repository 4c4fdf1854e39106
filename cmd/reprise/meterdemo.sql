-- Leaves one user in a new MariaDB, who has a database of its own. PASSWORD is replaced.
DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';
FLUSH PRIVILEGES;
CREATE DATABASE meter;
CREATE USER meter@'%' IDENTIFIED BY 'PASSWORD';
GRANT ALL PRIVILEGES ON meter.* TO meter@'%';
