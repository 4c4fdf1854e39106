package sqlitestore

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// The methods of the file system that stands before SQLite's own, in the form in which SQLite calls them.

func openFile(tls *libc.TLS, _, zName, file uintptr, flags int32, outFlags uintptr) int32 {
	below := interposed.below
	open := call[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[lib.Tsqlite3_vfs](below).FxOpen)
	name := ""
	if zName != 0 {
		name = libc.GoString(zName)
	}
	d := diskOf(name)
	if d == nil {
		return open(tls, below, zName, file, flags, outFlags)
	}
	if d.opened(name) != nil {
		return lib.SQLITE_CANTOPEN
	}
	own := file + headerSize
	at[lib.Tsqlite3_file](file).FpMethods, at[lib.Tsqlite3_file](own).FpMethods = 0, 0
	code := open(tls, below, zName, own, flags, outFlags)
	if methods := at[lib.Tsqlite3_file](own).FpMethods; methods != 0 { // it is to be closed, opened or not
		interposed.Lock()
		interposed.files[file] = &diskFile{disk: d, name: name, file: own, own: at[lib.Tsqlite3_io_methods](methods)}
		interposed.Unlock()
		at[lib.Tsqlite3_file](file).FpMethods = interposed.methods
	}
	return code
}

func deleteFile(tls *libc.TLS, _, zName uintptr, syncDir int32) int32 {
	below := interposed.below
	remove := call[func(*libc.TLS, uintptr, uintptr, int32) int32](at[lib.Tsqlite3_vfs](below).FxDelete)
	name := libc.GoString(zName)
	d := diskOf(name)
	if d == nil {
		return remove(tls, below, zName, syncDir)
	}
	return d.io(lib.SQLITE_IOERR_DELETE, lib.SQLITE_IOERR_DELETE, true, nil, func() int32 {
		code := remove(tls, below, zName, syncDir)
		if code == lib.SQLITE_OK {
			d.removed(name)
		}
		return code
	})
}

func closeFile(tls *libc.TLS, file uintptr) int32 {
	f := fileOf(file)
	interposed.Lock()
	delete(interposed.files, file)
	interposed.Unlock()
	at[lib.Tsqlite3_file](file).FpMethods = 0
	return call[func(*libc.TLS, uintptr) int32](f.own.FxClose)(tls, f.file)
}

func readFile(tls *libc.TLS, file, to uintptr, n int32, offset int64) int32 {
	f := fileOf(file)
	return f.disk.io(lib.SQLITE_IOERR_READ, lib.SQLITE_IOERR_READ, false, nil, func() int32 {
		return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.own.FxRead)(tls, f.file, to, n, offset)
	})
}

func writeFile(tls *libc.TLS, file, from uintptr, n int32, offset int64) int32 {
	f := fileOf(file)
	write := func(n int32) func() int32 {
		return func() int32 {
			code := call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.own.FxWrite)(tls, f.file, from, n, offset)
			if code == lib.SQLITE_OK {
				f.disk.changed(f.name, change{offset, append(make([]byte, 0, n), bytesAt(from, n)...)})
			}
			return code
		}
	}
	return f.disk.io(lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, true, write(n/2), write(n))
}

func truncateFile(tls *libc.TLS, file uintptr, size int64) int32 {
	f := fileOf(file)
	f.disk.cut()
	return f.disk.io(lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_TRUNCATE, true, nil, func() int32 {
		code := call[func(*libc.TLS, uintptr, int64) int32](f.own.FxTruncate)(tls, f.file, size)
		if code == lib.SQLITE_OK {
			f.disk.changed(f.name, change{at: size})
		}
		return code
	})
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := fileOf(file)
	return f.disk.io(lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_FSYNC, true, nil, func() int32 {
		changes := f.disk.unsynced(f.name)
		code := call[func(*libc.TLS, uintptr, int32) int32](f.own.FxSync)(tls, f.file, flags)
		if code == lib.SQLITE_OK {
			f.disk.synced(f.name, changes)
		}
		return code
	})
}

// What follows is SQLite's own.

func fileSize(tls *libc.TLS, file, size uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, uintptr) int32](f.own.FxFileSize)(tls, f.file, size)
}

func lockFile(tls *libc.TLS, file uintptr, lock int32) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32) int32](f.own.FxLock)(tls, f.file, lock)
}

func unlockFile(tls *libc.TLS, file uintptr, lock int32) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32) int32](f.own.FxUnlock)(tls, f.file, lock)
}

func checkReservedLock(tls *libc.TLS, file, out uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, uintptr) int32](f.own.FxCheckReservedLock)(tls, f.file, out)
}

func fileControl(tls *libc.TLS, file uintptr, what int32, argument uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32, uintptr) int32](f.own.FxFileControl)(tls, f.file, what, argument)
}

func sectorSize(tls *libc.TLS, file uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr) int32](f.own.FxSectorSize)(tls, f.file)
}

func deviceCharacteristics(tls *libc.TLS, file uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr) int32](f.own.FxDeviceCharacteristics)(tls, f.file)
}

func shmMap(tls *libc.TLS, file uintptr, region, size, extend int32, to uintptr) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](f.own.FxShmMap)(tls, f.file, region, size, extend, to)
}

func shmLock(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32, int32, int32) int32](f.own.FxShmLock)(tls, f.file, offset, n, flags)
}

func shmBarrier(tls *libc.TLS, file uintptr) {
	f := fileOf(file)
	call[func(*libc.TLS, uintptr)](f.own.FxShmBarrier)(tls, f.file)
}

func shmUnmap(tls *libc.TLS, file uintptr, remove int32) int32 {
	f := fileOf(file)
	return call[func(*libc.TLS, uintptr, int32) int32](f.own.FxShmUnmap)(tls, f.file, remove)
}
