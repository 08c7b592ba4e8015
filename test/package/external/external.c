/* external PLAN KV_PLAN: prints what the two libraries say of the plans. */
#include <layline/hooks.h>
#include <layline/kv.h>
#include <layline/runtime.h>

#include <stdio.h>

/* C99 without a warning is part of what is tested. */
static layline_status count_products(void *user,
                                     const layline_gemm_call *gemm) {
  (void)gemm;
  ++*(int *)user;
  return LAYLINE_DECLINED;
}

int main(int argc, char **argv) {
  layline_engine *engine = NULL;
  layline_kv_plan *kv = NULL;
  int64_t ranks = 0;
  int products = 0;
  char *report = NULL;
  if (argc != 3)
    return 2;
  if (layline_engine_create(NULL, &engine) != LAYLINE_OK)
    return 1;
  if (layline_gemm_set(engine, count_products, &products) != LAYLINE_OK ||
      layline_plan_load(engine, argv[1]) != LAYLINE_OK ||
      layline_plan_ranks(engine, &ranks) != LAYLINE_OK) {
    fprintf(stderr, "%s\n", layline_engine_error(engine));
    return 1;
  }
  printf("%d ranks\n", (int)ranks);
  layline_engine_destroy(engine);
  if (layline_plan_check("/nowhere", &report) == LAYLINE_OK)
    return 1;
  printf("%s", report);
  layline_string_free(report);
  if (layline_kv_plan_load(argv[2], &kv) != LAYLINE_OK) {
    fprintf(stderr, "%s\n", layline_kv_error());
    return 1;
  }
  layline_kv_plan_destroy(kv);
  printf("kv %s\n", layline_kv_format_version());
  return 0;
}
