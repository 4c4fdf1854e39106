/*
 * A clock that is ahead of the machine's, for one process: loaded into it by LD_PRELOAD, it answers for the real-time
 * clock. How far ahead, in microseconds, is in the file that SERVICETEST_CLOCK names, as a number of eight bytes, and may
 * change at any time. The monotonic clock stays as it is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SERVICETEST_CLOCK");
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
	if (page != MAP_FAILED)
		ahead = page;
	close(file);
}

int clock_gettime(clockid_t id, struct timespec *at)
{
	int failed = syscall(SYS_clock_gettime, id, at);
	if (failed || !ahead || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return failed;
	int64_t by = *ahead;
	at->tv_sec += by / 1000000;
	at->tv_nsec += by % 1000000 * 1000;
	if (at->tv_nsec >= 1000000000) {
		at->tv_sec++;
		at->tv_nsec -= 1000000000;
	}
	return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
