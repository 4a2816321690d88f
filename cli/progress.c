// How the command line talks: errors, notes, the library's messages and the progress line.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

cli_voice cli_talk;

// The line that stands on the terminal now, to be removed before other text.
static cli_progress *visible;

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

static bool has_colour(void)
{
    const char *off = getenv("NO_COLOR");
    return is_terminal() && !(off && off[0] != '\0');
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---------------------------------------------------------------- lines of text

static void say(const char *label, const char *colour, const char *given)
{
    char text[4096];
    cli_plain_text(given, text, sizeof text);
    cli_progress_clear();
    if (has_colour())
        fprintf(stderr, "hooke: \033[%sm%s:\033[0m %s\n", colour, label, text);
    else
        fprintf(stderr, "hooke: %s: %s\n", label, text);
}

static void json_failure(const char *text)
{
    if (!cli_talk.json) return;
    cli_json_print(json_pack("{s:s, s:o}", "status", "failed", "error", cli_json_text(text)));
}

void cli_say_error(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("error", "31", text);
}

void cli_note(const char *format, ...)
{
    if (cli_talk.quiet) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("note", "36", text);
}

void cli_warn(const char *format, ...)
{
    if (cli_talk.quiet) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("warning", "33", text);
}

int cli_failure(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("error", "31", text);
    json_failure(text);
    return CLI_FAILED;
}

int cli_usage_error(const char *command, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char plain[4096];
    cli_plain_text(text, plain, sizeof plain);
    fprintf(stderr, "hooke%s%s: %s\n", command ? " " : "", command ? command : "", plain);
    fprintf(stderr, "Try 'hooke %s%s--help'.\n", command ? command : "", command ? " " : "");
    json_failure(text);
    return CLI_WRONG_USAGE;
}

FILE *cli_text_stream(void)
{
    static FILE *errors;
    if (!cli_talk.json) return stdout;
    if (!errors) errors = cli_plain_stream(STDERR_FILENO);
    return errors ? errors : stderr;
}

// The latest messages of the library, so that the notes of a mesh are not told twice.
enum { REMEMBERED = 16 };
static char remembered[REMEMBERED][256];
static int message_count;

bool cli_was_told(const char *ending)
{
    for (int i = 0; i < message_count && i < REMEMBERED; ++i)
        if (cli_ends_with(remembered[i], ending)) return true;
    return false;
}

static void take_message(void *context, hk_log_level level, const char *message)
{
    (void)context;
    if (cli_talk.quiet || level == HK_LOG_DEBUG) return;
    // What is made more than once, as worlds are, has the same to say.
    for (int i = 0; i < message_count && i < REMEMBERED; ++i)
        if (strcmp(remembered[i], message) == 0) return;
    snprintf(remembered[message_count++ % REMEMBERED], sizeof remembered[0], "%s", message);
    if (level == HK_LOG_WARNING)
        say("warning", "33", message);
    else
        say("note", "36", message);
}

void cli_start_log(void)
{
    hk_set_log(take_message, NULL);
}

void cli_stop_log(void)
{
    hk_set_log(NULL, NULL);
}

// ---------------------------------------------------------------- the progress line

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
    return size.ws_col;
}

static void draw(cli_progress *progress, const char *line)
{
    // One column is left free: a full line would scroll.
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    fflush(stderr);
    progress->drawn = true;
    visible = progress;
}

// At most ten lines a second: drawing must not cost what the steps cost.
static bool may_draw(cli_progress *progress, double now)
{
    if (!progress->active || (progress->drawn && now - progress->last < 0.1)) return false;
    progress->last = now;
    return true;
}

void cli_progress_begin(cli_progress *progress, int total)
{
    *progress = (cli_progress){.total = total, .start = cli_now()};
    progress->active = is_terminal() && !cli_talk.quiet && !cli_talk.json;
}

void cli_progress_step(cli_progress *progress, int step, double time)
{
    double now = cli_now();
    if (step < 1 || !may_draw(progress, now)) return;
    double each = (now - progress->start) / step;
    long left = lround(each * (progress->total - step));
    char eta[32], line[200];
    if (left >= 3600)
        snprintf(eta, sizeof eta, "%ld:%02ld:%02ld", left / 3600, left / 60 % 60, left % 60);
    else
        snprintf(eta, sizeof eta, "%ld:%02ld", left / 60, left % 60);
    enum { CELLS = 24 };
    char bar[] = "------------------------";
    int full = (int)((double)step / progress->total * CELLS);
    memset(bar, '=', (size_t)full);
    if (full > 0 && full < CELLS) bar[full - 1] = '>';
    snprintf(line, sizeof line, "[%s] step %d/%d  t = %.4g s  %.3g ms/step  ETA %s", bar, step,
             progress->total, time, 1e3 * each, eta);
    draw(progress, line);
}

// No bar: how many iterations are still to come is not known.
void cli_progress_pose(cli_progress *progress, int iterations, const hk_iteration *iteration)
{
    double now = cli_now();
    if (!may_draw(progress, now)) return;
    char line[160];
    snprintf(line, sizeof line, "load %.3g %%  iteration %d  relative residual %.2e  %.1f s",
             100 * iteration->load, iterations, iteration->relative_residual,
             now - progress->start);
    draw(progress, line);
}

void cli_progress_text(cli_progress *progress, const char *format, ...)
{
    if (!may_draw(progress, cli_now())) return;
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    draw(progress, line);
}

void cli_progress_clear(void)
{
    if (!visible) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    visible->drawn = false;
    visible = NULL;
}

void cli_progress_end(cli_progress *progress)
{
    if (visible == progress) cli_progress_clear();
    progress->active = false;
}
