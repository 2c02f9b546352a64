/* ending.c: what is to be undone however the program ends: at exit, and by the signals that ask it to end. */
#include "tool/tool.h"
#include <signal.h>
#include <stdlib.h>

enum { MOST = 2 };
static void (*undo[MOST])(void);
static int count;
static volatile sig_atomic_t signalled;

static void undo_all(void) {
    for (int i = count - 1; i >= 0; i--) undo[i]();
}

bool ending_by_signal(void) { return signalled; }

static void end_by_signal(int number) {
    signalled = 1;
    undo_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void) {
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction now;
        /* Who started us under nohup wants it to go on. */
        if (sigaction(ending[i], NULL, &now) || now.sa_handler == SIG_IGN) continue;
        now = (struct sigaction){.sa_handler = end_by_signal};
        sigaction(ending[i], &now, NULL);
    }
}

void ending_undo(void (*what)(void)) {
    for (int i = 0; i < count; i++)
        if (undo[i] == what) return;
    undo[count++] = what;
    if (count > 1) return;
    atexit(undo_all);
    watch_signals();
}
