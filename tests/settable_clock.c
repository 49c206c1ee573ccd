/* The wall clock of a program under test, set from outside: preloaded, it answers every question for the time of day
 * with the nanoseconds since 1970 that stand in the first 8 octets of the file $SETTABLE_CLOCK. The clock stands still
 * until the file changes. Clocks that only measure intervals stay those of the machine. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *nanoseconds;
static int (*machine_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("SETTABLE_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    machine_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (file < 0)
        return;
    void *page = mmap(NULL, sizeof *nanoseconds, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        nanoseconds = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!machine_clock)
        open_clock();
    if (!nanoseconds || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return machine_clock(clock, now);
    int64_t time = *nanoseconds;
    now->tv_sec = time / 1000000000;
    now->tv_nsec = time % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0)
        return -1;
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
