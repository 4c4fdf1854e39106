# Cleans up after a test process, however that ends.
#
# $1 is the folder of a server, $2 the signal that ends the server at once and tidily. The standard input
# tells which process the server is now, one id a line, an empty line for none; it ends when the test
# process does, or when it needs the keeper no more.

folder=$1 signal=$2 server=

while read -r line; do server=$line; done

# each signal: sends it to the children of the server
each() {
	if [ -d /proc/self ]; then
		for stat in /proc/[0-9]*/stat; do
			read -r child _ _ parent _ <"$stat" || continue
			[ "$parent" != "$server" ] || kill -s "$1" "$child"
		done
	else
		ps -A -o pid= -o ppid= | while read -r child parent; do
			[ "$parent" != "$server" ] || kill -s "$1" "$child"
		done
	fi
}

# runs: whether the server runs; one that has ended may keep its id until somebody asks how it ended
runs() {
	if [ -d /proc/self ]; then
		read -r _ _ state _ <"/proc/$server/stat" && [ "$state" != Z ]
	else
		kill -s 0 "$server"
	fi
}

if [ -n "$server" ] && kill -s "$signal" "$server"; then
	kill -s CONT "$server" # it may have been paused
	each CONT
	tries=0
	while runs && [ $tries -lt 50 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	each KILL
	kill -s KILL "$server"
fi

tries=0
while [ -e "$folder" ] && [ $tries -lt 50 ]; do # a dying process may still write into it
	umount "$folder/disk"
	rm -rf "$folder" || sleep 0.1
	tries=$((tries + 1))
done
