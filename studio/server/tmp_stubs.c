#include "simulation.h"
#include "server.h"
bool st_convergence(st_session *s, hk_world *const *w, int c, const char *const *n, json_t **a,
                    st_why *why)
{
    (void)s;
    (void)w;
    (void)c;
    (void)n;
    (void)a;
    return st_fail(why, "not there yet");
}
st_recording *st_recording_create(void)
{
    return NULL;
}
void st_recording_free(st_recording *r)
{
    (void)r;
}
bool st_recording_command(st_session *s, const json_t *m, st_why *why)
{
    (void)s;
    (void)m;
    return st_fail(why, "not there yet");
}
void st_recording_begin_scene(st_session *s)
{
    (void)s;
}
void st_recording_add(st_session *s)
{
    (void)s;
}
void st_post_upload(const st_request *q, st_reply *r)
{
    (void)q;
    st_why w;
    st_fail_http(&w, 501, "not there yet");
    st_reply_error(r, &w);
}
void st_get_export(const st_request *q, st_reply *r)
{
    (void)q;
    st_why w;
    st_fail_http(&w, 501, "not there yet");
    st_reply_error(r, &w);
}
